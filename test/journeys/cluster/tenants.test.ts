import { repeatOnCluster } from './run-on-cluster.ts'

await repeatOnCluster(() => import('./tenant-journeys.ts'))
