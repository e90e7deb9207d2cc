import { byReferences, type KindForm } from './core/definitions/kind.ts'
import { features } from './features.ts'

let loadedKinds: readonly KindForm[] | undefined

/** Loads the kinds of definitions of all features. Commands that read a workspace wait for it. */
export async function loadKinds(): Promise<void> {
  const { endpoints } = await import('./core/endpoints/manage/endpoint-kind.ts')
  const ofFeatures = await Promise.all(features.map((feature) => feature.kinds?.() ?? []))
  loadedKinds ??= byReferences([endpoints, ...ofFeatures.flat()])
}

/** Every kind of definitions, in the order of references: a kind refers to those before it. */
export function allKinds(): readonly KindForm[] {
  if (!loadedKinds) throw new Error('The kinds of definitions are not loaded.')
  return loadedKinds
}
