import { runOnCluster } from './run-on-cluster.ts'

runOnCluster()
await import('../operating/shared-catalog.test.ts')
