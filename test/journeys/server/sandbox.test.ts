import { runOnGivenServer } from './run-on.ts'

await runOnGivenServer(() => import('../endpoints/sandbox.test.ts'))
