import { repeatOnCluster } from './run-on-cluster.ts'

await repeatOnCluster(() => import('../endpoints/sandbox.test.ts'))
