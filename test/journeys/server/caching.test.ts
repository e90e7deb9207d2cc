import { runOnGivenServer } from './run-on.ts'

await runOnGivenServer(() => import('../caching/caching.test.ts'))
