import { runOnGivenServer } from './run-on.ts'

await runOnGivenServer(() => import('../logs/logs.test.ts'))
