import { runOnGivenServer } from './run-on.ts'

await runOnGivenServer(() => import('../logs/search.test.ts'))
