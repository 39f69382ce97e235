/** The section `console:` of routes.yaml. */
import { amountIn, DURATIONS } from '../../engine/kit.ts'
import type { HostBase } from '../../engine/plugin.ts'

interface Section {
  readonly session?: string
  readonly admin?: boolean
  readonly edit?: boolean
}
export interface ConsoleSettings {
  /** ms until a session ends. */
  readonly session: number
  /** Whether the public listener serves the endpoints of operators. */
  readonly admin: boolean
  /** Whether operators may edit routes.yaml in the console. */
  readonly edit: boolean
}

export const SECTION = {
  description: 'The console at /console.',
  type: 'object',
  additionalProperties: false,
  properties: {
    session: {
      description: 'How long a session lasts; 7d by default.',
      type: 'string',
      pattern: '^[1-9][0-9]{0,4}[mhd]$',
      maxLength: 6,
      examples: ['12h'],
    },
    admin: {
      description:
        'Whether /api/admin/* and the pages of operators are served to accounts with the role admin; true by default. The admin listener always serves them.',
      type: 'boolean',
      examples: [false],
    },
    edit: {
      description: 'Whether operators may edit routes.yaml in the console; false by default.',
      type: 'boolean',
      examples: [true],
    },
  },
  examples: [{ session: '12h', admin: false }],
}

export const consoleSettings = ({ section }: Pick<HostBase, 'section'>): ConsoleSettings => {
  const { session = '7d', admin = true, edit = false } = section<Section>('console')
  return { session: amountIn(session, DURATIONS), admin, edit }
}
