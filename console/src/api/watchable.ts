/** Tells components that a value outside of React changed. */
export function watchable() {
  const listeners = new Set<() => void>()
  return {
    subscribe(listener: () => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    changed(): void {
      for (const listener of [...listeners]) listener()
    },
  }
}
