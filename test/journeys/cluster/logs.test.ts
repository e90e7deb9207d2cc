import { runOnCluster } from './run-on-cluster.ts'

runOnCluster()
await import('../logs/logs.test.ts')
