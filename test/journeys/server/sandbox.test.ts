import { repeatOnServer } from './run-on.ts'

await repeatOnServer('../endpoints/sandbox.test.ts')
