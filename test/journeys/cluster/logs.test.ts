import { repeatOnCluster } from './run-on-cluster.ts'

await repeatOnCluster(() => import('../logs/logs.test.ts'))
