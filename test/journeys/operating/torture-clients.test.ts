import { testShortForms } from '../../../torture/support/short-form.ts'

testShortForms('test/journeys/operating/torture-clients.test.ts')
