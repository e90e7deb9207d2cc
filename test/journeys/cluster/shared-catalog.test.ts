import { repeatOnCluster } from './run-on-cluster.ts'

await repeatOnCluster('../operating/shared-catalog.test.ts')
