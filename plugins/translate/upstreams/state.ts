/** The addresses and keys of every upstream with their state, as the running gateway sees them. */
import { errors } from '../../../engine/errors.ts'
import type { AdminHandlerOf, HostBase, KeyView, SingleCommand } from '../../../engine/plugin.ts'

type Host = Parameters<AdminHandlerOf<HostBase>>[1]
type State = Awaited<ReturnType<Host['gateway']['status']>>

const PATH = '/-/upstreams'
const fault = errors({
  NO_ADMIN: [
    503,
    'no gateway runs on this data folder, and only a running one knows the state of upstreams; start one with `tollgate start`, or name its folder with TOLLGATE_DATA',
  ],
})

export const admin = {
  [`GET ${PATH}`]: async (_: unknown, { gateway, upstreams: views }: Host) => {
    const { upstreams, keys } = await gateway.status()
    return Object.fromEntries(
      Object.entries(upstreams).map(([name, addresses]) => [
        name,
        {
          title: views[name]?.title ?? name,
          addresses: addresses.map(each => ({ ...each, workers: { ...each.workers } })),
          keys: (keys[name] ?? []).map(key => ({ ...key, workers: { ...key.workers } })),
        },
      ]),
    )
  },
}

interface Row {
  readonly title: string
  readonly addresses: State['upstreams'][string]
  readonly keys: readonly KeyView[]
}

export const list: SingleCommand = {
  summary: 'Lists the upstreams: each address with its health, and the keys with their state.',
  example: 'tollgate upstreams',
  async run({ ask }) {
    if (!ask) throw fault('NO_ADMIN')
    const state = (await ask(PATH)) as unknown as Readonly<Record<string, Row>>
    const rows = Object.entries(state).flatMap(([upstream, { title, addresses, keys }]) =>
      addresses.map(({ address, state, busy, warming, conversations: { own, moved } }) => ({
        upstream,
        title,
        address,
        state: warming.length > 0 ? `${state}, warming ${warming.join(' ')}` : state,
        busy,
        conversations: own + moved === 0 ? '-' : `${own} own, ${moved} moved`,
        keys: keys.map(keyText).join(', ') || '-',
      })),
    )
    return { rows, json: state }
  },
}

const keyText = ({ key, state, seconds, limited }: KeyView): string => {
  const details = [
    ...(seconds > 0 ? [`${seconds} s`] : []),
    ...(limited.length > 0 ? [`for ${limited.join(' ')}`] : []),
  ]
  return [key, state, ...details].join(' ')
}
