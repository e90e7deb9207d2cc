import { loadScenarios } from '../torture/load-scenarios.ts'
import { testShortForms } from '../torture/support/short-form.ts'

testShortForms('test/torture-load.test.ts', loadScenarios)
