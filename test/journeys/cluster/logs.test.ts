import { repeatOnCluster } from './run-on-cluster.ts'

await repeatOnCluster('../logs/logs.test.ts')
