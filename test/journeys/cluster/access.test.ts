import { runOnCluster } from './run-on-cluster.ts'

runOnCluster()
await import('../access/access.test.ts')
