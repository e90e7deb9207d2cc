import { repeatOnServer } from './run-on.ts'

await repeatOnServer('../cluster/tenant-journeys.ts')
