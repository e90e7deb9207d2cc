import { repeatOnCluster } from './run-on-cluster.ts'

await repeatOnCluster('../endpoints/sandbox.test.ts')
