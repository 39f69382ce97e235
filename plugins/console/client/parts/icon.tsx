/** Icons of 16 × 16, drawn as lines. */
const ICONS = {
  overview: 'M2 14V9h3v5zM6.5 14V5h3v9zM11 14V2h3v12z',
  keys: 'M10 6a3 3 0 1 1-2.9 3.8L2 14.5V12l1.5-.5V10l2-1 .6-1.4A3 3 0 0 1 10 6z',
  usage: 'M2 3h12M2 8h12M2 13h8',
  tasks: 'M2 4l2 2 3-4M2 11l2 2 3-4M9 4h5M9 11h5',
  files: 'M4 1.5h5l3.5 3.5v9.5H4zM9 1.5V5h3.5',
  batches: 'M2 5l6-3 6 3-6 3zM2 8.5l6 3 6-3M2 12l6 3 6-3',
  models: 'M8 1.5l6 3.2v6.6l-6 3.2-6-3.2V4.7zM2 4.7l6 3.3 6-3.3M8 8v6.5',
  api: 'M5 4L1.5 8L5 12M11 4l3.5 4L11 12M9.5 2.5l-3 11',
  playground: 'M4 2.5l9 5.5-9 5.5z',
  notifications: 'M8 2a4 4 0 0 1 4 4v3l1.5 3h-11L4 9V6a4 4 0 0 1 4-4zM6.5 14h3',
  personal: 'M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14.5a5.5 5.5 0 0 1 11 0',
  accounts:
    'M6 8a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5zM1.5 14a4.5 4.5 0 0 1 9 0M11 3.2a2.5 2.5 0 0 1 0 4.6M12 10a4.5 4.5 0 0 1 2.5 4',
  admin: 'M8 1.5l5.5 2v4c0 3.5-2.3 5.8-5.5 7-3.2-1.2-5.5-3.5-5.5-7v-4z',
  live: 'M1.5 8h3l2-5 3 10 2-5h3',
  ledger: 'M3 1.5h10v13H3zM5.5 5h5M5.5 8h5M5.5 11h3',
  upstreams: 'M8 14V3M4 7l4-4 4 4M2 14.5h12',
  routes: 'M2.5 3.5h4l3 9h4M2.5 12.5h4l1-3M9 6.5l.6-3h3.9',
  configuration: 'M2 4h7M12 4h2M2 12h2M7 12h7M10.5 2.5v3M5.5 10.5v3M2 8h12',
  alerts: 'M8 2l6.5 12h-13zM8 6.5v4M8 12v.8',
  actions: 'M3 2v12h10V5l-3-3zM6 9l1.5 1.5L10.5 7',
  deliveries: 'M1.5 3h13v10h-13zM1.5 4l6.5 5 6.5-5',
  more: 'M2 4h12M2 8h12M2 12h12',
  theme: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12',
  gate: 'M2 14V3l6-1.5L14 3v11M5 14V6M8 14V5.5M11 14V6',
} as const
export type IconName = keyof typeof ICONS

export const Icon = ({ name }: { name: IconName }) => (
  <svg
    width="16"
    height="16"
    viewBox="0 0 16 16"
    fill="none"
    stroke="currentColor"
    stroke-width="1.4"
    stroke-linejoin="round"
    stroke-linecap="round"
    aria-hidden="true"
  >
    <path d={ICONS[name]} />
  </svg>
)
