/** The pages about the account itself: one line and one file each. */
import type { Page } from './page.ts'

export const ACCOUNT_PAGES = {
  team: { key: 'y', icon: 'accounts', group: 'customer', load: () => import('./pages/team.tsx') },
  member: { under: 'team', load: () => import('./pages/member.tsx') },
  statements: {
    key: 'h',
    icon: 'ledger',
    group: 'customer',
    load: () => import('./pages/statements.tsx'),
  },
  notifications: {
    key: 'n',
    icon: 'notifications',
    group: 'customer',
    load: () => import('./pages/notifications.tsx'),
  },
  personal: {
    key: 'c',
    icon: 'personal',
    group: 'customer',
    load: () => import('./pages/personal.tsx'),
  },
} as const satisfies Readonly<Record<string, Page>>
