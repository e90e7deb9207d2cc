import { kill } from '../torture/kill.ts'
import { powerCut } from '../torture/power-cut.ts'
import { testShortForms } from '../torture/support/short-form.ts'

testShortForms('test/torture-disks.test.ts', [kill, powerCut])
