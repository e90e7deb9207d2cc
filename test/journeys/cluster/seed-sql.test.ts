import { repeatOnCluster } from './run-on-cluster.ts'

await repeatOnCluster(() => import('../seed/seed-sql.test.ts'))
