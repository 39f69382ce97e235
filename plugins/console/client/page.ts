/** A page as the console knows it before it loads. */
import type { ComponentType } from 'preact'
import type { IconName } from './parts/icon.tsx'
import type { Place } from './router.ts'

export interface PageProps {
  readonly place: Place
}
export interface Page {
  /** The key after `g` that opens it. */
  readonly key?: string
  readonly icon?: IconName
  /** Where the navigation lists it; a page without it is reached from another one, `under`. */
  readonly group?: 'customer' | 'admin'
  readonly under?: string
  /** For operators, if that is another one. */
  readonly adminUnder?: string
  /** Whether it is for operators, where `group` does not say so. */
  readonly isAdmin?: boolean
  load(): Promise<{ readonly default: ComponentType<PageProps> }>
}
