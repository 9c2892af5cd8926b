#include "strategies/pipeline/automatic_orders.h"
#include "strategies/pipeline/registered.h"

namespace strategies {

Orders zb_1p_orders(const ScheduleShape& shape) { return automatic_orders(shape, shape.stages); }

}  // namespace strategies
