#include "strategies/pipeline/automatic_orders.h"
#include "strategies/pipeline/registered.h"

namespace strategies {

Orders zb_2p_orders(const ScheduleShape& shape) { return automatic_orders(shape, 2 * shape.stages); }

}  // namespace strategies
