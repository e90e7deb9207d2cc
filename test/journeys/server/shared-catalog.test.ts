import { runOnGivenServer } from './run-on.ts'

await runOnGivenServer(() => import('../operating/shared-catalog.test.ts'))
