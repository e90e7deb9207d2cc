import { runOnCluster } from './run-on-cluster.ts'

runOnCluster()
await import('../endpoints/endpoints.test.ts')
