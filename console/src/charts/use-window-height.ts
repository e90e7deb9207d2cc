import { useSyncExternalStore } from 'react'

export function useWindowHeight(): number {
  return useSyncExternalStore(onResize, () => innerHeight)
}

function onResize(listener: () => void): () => void {
  addEventListener('resize', listener)
  return () => removeEventListener('resize', listener)
}
