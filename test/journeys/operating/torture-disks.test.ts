import { deployments } from '../../../torture/scenarios/deployments.ts'
import { diskFull, fsync, readOnly, refusedWrites } from '../../../torture/scenarios/disk-faults.ts'
import { erasures } from '../../../torture/scenarios/erasures.ts'
import { kill } from '../../../torture/scenarios/kill.ts'
import { memory } from '../../../torture/scenarios/memory.ts'
import { powerCut } from '../../../torture/scenarios/power-cut.ts'
import { testShortForms } from '../../../torture/support/short-form.ts'

// The faults that could lose acknowledged entries; `npm run torture` runs the others as well.
testShortForms('test/journeys/operating/torture-disks.test.ts', [
  kill,
  deployments,
  erasures,
  powerCut,
  diskFull,
  refusedWrites,
  fsync,
  readOnly,
  memory,
])
