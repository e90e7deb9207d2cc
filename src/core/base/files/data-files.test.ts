import { expect, test } from 'vitest'
import { erasureFiles } from '../../../features/erasure/index.ts'
import { features } from '../../../features.ts'
import { dataFiles, reservedFiles } from './data-files.ts'

test('the files of core and of features are reserved, so that every build backs them up', () => {
  const keyFiles = features.flatMap((feature) => feature.keyFiles ?? []).map(({ name }) => name)
  const declared = [...Object.values(dataFiles), ...keyFiles, ...Object.values(erasureFiles)]
  expect(reservedFiles).toEqual(expect.arrayContaining(declared))
})
