import { runOnGivenServer } from './run-on.ts'

await runOnGivenServer(() => import('../endpoints/endpoints.test.ts'))
