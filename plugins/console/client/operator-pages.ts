/** The pages of operators: one line and one file each. */
import type { Page } from './page.ts'

export const OPERATOR_PAGES = {
  accounts: {
    key: 'a',
    icon: 'accounts',
    group: 'admin',
    load: () => import('./pages/accounts.tsx'),
  },
  account: { under: 'accounts', isAdmin: true, load: () => import('./pages/account.tsx') },
  traffic: {
    key: 'v',
    icon: 'usage',
    group: 'admin',
    load: () => import('./pages/traffic.tsx'),
  },
  live: { key: 'l', icon: 'live', group: 'admin', load: () => import('./pages/live.tsx') },
  ledger: { key: 'd', icon: 'ledger', group: 'admin', load: () => import('./pages/ledger.tsx') },
  upstreams: {
    key: 's',
    icon: 'upstreams',
    group: 'admin',
    load: () => import('./pages/upstreams.tsx'),
  },
  routes: { key: 'r', icon: 'routes', group: 'admin', load: () => import('./pages/routes.tsx') },
  configuration: {
    key: 'e',
    icon: 'configuration',
    group: 'admin',
    load: () => import('./pages/configuration.tsx'),
  },
  editor: { under: 'configuration', isAdmin: true, load: () => import('./pages/editor.tsx') },
  deliveries: {
    key: 'w',
    icon: 'deliveries',
    group: 'admin',
    load: () => import('./pages/deliveries.tsx'),
  },
} as const satisfies Readonly<Record<string, Page>>
