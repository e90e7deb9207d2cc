import { repeatOnCluster } from './run-on-cluster.ts'

await repeatOnCluster('../seed/seed-sql.test.ts')
