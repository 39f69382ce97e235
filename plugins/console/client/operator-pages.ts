/** The pages of operators: one line and one file each. */
import type { Page } from './page.ts'

export const OPERATOR_PAGES = {
  accounts: {
    key: 'a',
    icon: 'accounts',
    group: 'admin',
    load: () => import('./pages/operator/accounts.tsx'),
  },
  account: { under: 'accounts', isAdmin: true, load: () => import('./pages/operator/account.tsx') },
  traffic: {
    key: 'v',
    icon: 'usage',
    group: 'admin',
    load: () => import('./pages/operator/traffic.tsx'),
  },
  live: { key: 'l', icon: 'live', group: 'admin', load: () => import('./pages/operator/live.tsx') },
  ledger: {
    key: 'd',
    icon: 'ledger',
    group: 'admin',
    load: () => import('./pages/operator/ledger.tsx'),
  },
  codes: {
    key: 'z',
    icon: 'keys',
    group: 'admin',
    load: () => import('./pages/operator/codes.tsx'),
  },
  upstreams: {
    key: 's',
    icon: 'upstreams',
    group: 'admin',
    load: () => import('./pages/operator/upstreams.tsx'),
  },
  routes: {
    key: 'r',
    icon: 'routes',
    group: 'admin',
    load: () => import('./pages/operator/routes.tsx'),
  },
  configuration: {
    key: 'e',
    icon: 'configuration',
    group: 'admin',
    load: () => import('./pages/operator/configuration.tsx'),
  },
  editor: {
    under: 'configuration',
    isAdmin: true,
    load: () => import('./pages/operator/editor.tsx'),
  },
  alerts: {
    key: 'j',
    icon: 'alerts',
    group: 'admin',
    load: () => import('./pages/operator/alerts.tsx'),
  },
  actions: {
    key: 'x',
    icon: 'actions',
    group: 'admin',
    load: () => import('./pages/operator/actions.tsx'),
  },
  deliveries: {
    key: 'w',
    icon: 'deliveries',
    group: 'admin',
    load: () => import('./pages/operator/deliveries.tsx'),
  },
} as const satisfies Readonly<Record<string, Page>>
