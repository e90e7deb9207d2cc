import { diskFull } from '../../../torture/scenarios/disk-full.ts'
import { fsync } from '../../../torture/scenarios/fsync.ts'
import { kill } from '../../../torture/scenarios/kill.ts'
import { memory } from '../../../torture/scenarios/memory.ts'
import { powerCut } from '../../../torture/scenarios/power-cut.ts'
import { readOnly } from '../../../torture/scenarios/read-only.ts'
import { refusedWrites } from '../../../torture/scenarios/refused-writes.ts'
import { testShortForms } from '../../../torture/support/short-form.ts'

// The faults that could lose acknowledged entries; `npm run torture` runs the others as well.
testShortForms('test/journeys/operating/torture-disks.test.ts', [
  kill,
  powerCut,
  diskFull,
  refusedWrites,
  fsync,
  readOnly,
  memory,
])
