import { repeatOnCluster } from './run-on-cluster.ts'

await repeatOnCluster('../cluster/tenant-journeys.ts')
