import { runOnCluster } from './run-on-cluster.ts'

runOnCluster()
await import('../endpoints/sandbox.test.ts')
