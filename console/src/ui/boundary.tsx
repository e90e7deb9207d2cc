import { Component, type ReactNode } from 'react'
import { Failure } from './states.tsx'

/** A page that breaks says so, and the others go on. After an update the files of the old one may be gone. */
export class Boundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state: { error: Error | undefined } = { error: undefined }

  static getDerivedStateFromError(error: Error): { error: Error } {
    return { error }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (!error) return this.props.children
    const told = new Error(`This page could not be shown: ${error.message}`)
    return <Failure error={told} retry={() => location.reload()} />
  }
}
