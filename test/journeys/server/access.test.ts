import { runOnGivenServer } from './run-on.ts'

await runOnGivenServer(() => import('../access/access.test.ts'))
