import { repeatOnCluster } from './run-on-cluster.ts'

await repeatOnCluster(() => import('../operating/shared-catalog.test.ts'))
