/** The pages of the console: one line and one file each. */
import { ACCOUNT_PAGES } from './account-pages.ts'
import { OPERATOR_PAGES } from './operator-pages.ts'
import type { Page } from './page.ts'

/** By the first part of the address; its title is the text `page.NAME`. */
export const PAGES = {
  overview: {
    key: 'o',
    icon: 'overview',
    group: 'customer',
    load: () => import('./pages/overview.tsx'),
  },
  keys: { key: 'k', icon: 'keys', group: 'customer', load: () => import('./pages/keys.tsx') },
  usage: { key: 'u', icon: 'usage', group: 'customer', load: () => import('./pages/usage.tsx') },
  call: { under: 'usage', adminUnder: 'live', load: () => import('./pages/call.tsx') },
  tasks: { key: 't', icon: 'tasks', group: 'customer', load: () => import('./pages/tasks.tsx') },
  task: { under: 'tasks', load: () => import('./pages/task.tsx') },
  files: { key: 'f', icon: 'files', group: 'customer', load: () => import('./pages/files.tsx') },
  batches: {
    key: 'b',
    icon: 'batches',
    group: 'customer',
    load: () => import('./pages/batches.tsx'),
  },
  models: { key: 'm', icon: 'models', group: 'customer', load: () => import('./pages/models.tsx') },
  api: { key: 'i', icon: 'api', group: 'customer', load: () => import('./pages/api.tsx') },
  playground: {
    key: 'p',
    icon: 'playground',
    group: 'customer',
    load: () => import('./pages/playground.tsx'),
  },
  ...ACCOUNT_PAGES,
  ...OPERATOR_PAGES,
} as const satisfies Readonly<Record<string, Page>>

export type PageName = keyof typeof PAGES
export const HOME: PageName = 'overview'
export const pageOf = (name: string): Page | undefined =>
  Object.hasOwn(PAGES, name) ? PAGES[name as PageName] : undefined
export const pagesOf = (
  group: NonNullable<Page['group']>,
): readonly (readonly [PageName, Page])[] =>
  (Object.entries(PAGES) as [PageName, Page][]).filter(([, page]) => page.group === group)
