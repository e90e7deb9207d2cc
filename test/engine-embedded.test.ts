import { describeEngine } from './support/engine-behaviour.ts'
import { openEmbedded } from './support/engines.ts'
import { describeOfficialClient } from './support/official-client.ts'

describeEngine(
  'the embedded engine',
  () => openEmbedded(),
  (opened) => describeOfficialClient(() => opened().dataDir),
)
