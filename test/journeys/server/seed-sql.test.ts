import { runOnGivenServer } from './run-on.ts'

await runOnGivenServer(() => import('../seed/seed-sql.test.ts'))
