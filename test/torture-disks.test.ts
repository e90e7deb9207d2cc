import { clock } from '../torture/clock.ts'
import { descriptors } from '../torture/descriptors.ts'
import { diskFull } from '../torture/disk-full.ts'
import { fsync } from '../torture/fsync.ts'
import { kill } from '../torture/kill.ts'
import { memory } from '../torture/memory.ts'
import { powerCut } from '../torture/power-cut.ts'
import { readOnly } from '../torture/read-only.ts'
import { refusedWrites } from '../torture/refused-writes.ts'
import { testShortForms } from '../torture/support/short-form.ts'

testShortForms('test/torture-disks.test.ts', [
  kill,
  powerCut,
  diskFull,
  refusedWrites,
  fsync,
  descriptors,
  readOnly,
  memory,
  clock,
])
