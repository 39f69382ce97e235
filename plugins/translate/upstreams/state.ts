/** The addresses and keys of every upstream with their state, as the running gateway sees them. */
import { errors } from '../../../engine/errors.ts'
import type { AdminHandlerOf, HostBase, SingleCommand } from '../../../engine/plugin.ts'
import { type UpstreamRow, upstreamRow } from '../../rows/upstreams.ts'

type Host = Parameters<AdminHandlerOf<HostBase>>[1]

const PATH = '/-/upstreams'
const fault = errors({
  NO_ADMIN: [
    503,
    'no gateway runs on this data folder, and only a running one knows the state of upstreams; start one with `tollgate start`, or name its folder with TOLLGATE_DATA',
  ],
})

type Rows = Readonly<Record<string, Pick<UpstreamRow, 'title' | 'addresses' | 'keys'>>>

export const admin = {
  [`GET ${PATH}`]: async (_: unknown, { gateway, upstreams: views }: Host): Promise<Rows> => {
    const status = await gateway.status()
    return Object.fromEntries(
      Object.keys(status.upstreams).map(name => {
        const { title, addresses, keys } = upstreamRow(name, views, status)
        return [name, { title, addresses, keys }]
      }),
    )
  },
}

export const list: SingleCommand = {
  summary: 'Lists the upstreams: each address with its health, and the keys with their state.',
  example: 'tollgate upstreams',
  async run({ ask }) {
    if (!ask) throw fault('NO_ADMIN')
    const state = (await ask(PATH)) as Rows
    const rows = Object.entries(state).flatMap(([upstream, { title, addresses, keys }]) =>
      addresses.map(({ address, state, since, busy, warming, conversations: { own, moved } }) => ({
        upstream,
        title,
        address,
        state: warming.length > 0 ? `${state}, warming ${warming.join(' ')}` : state,
        since: since ?? '-',
        busy,
        conversations: own + moved === 0 ? '-' : `${own} own, ${moved} moved`,
        keys: keys.map(keyText).join(', ') || '-',
      })),
    )
    return { rows, json: state }
  },
}

const keyText = ({ key, state, since, seconds, limited }: UpstreamRow['keys'][number]): string => {
  const details = [
    ...(state !== 'ready' && since !== null ? [`since ${since}`] : []),
    ...(seconds > 0 ? [`${seconds} s`] : []),
    ...(limited.length > 0 ? [`for ${limited.join(' ')}`] : []),
  ]
  return [key, state, ...details].join(' ')
}
