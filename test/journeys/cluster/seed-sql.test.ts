import { runOnCluster } from './run-on-cluster.ts'

runOnCluster()
await import('../seed/seed-sql.test.ts')
