import { createSimulator } from '@/simulator/simulator.ts'
import type { Script } from './upstream.ts'

const simulator = createSimulator()

/** What the simulator answers, for an upstream that sees the calls: whatever their format. */
export const simulated: Script = ({ method, path, query, headers, body }) =>
  simulator.fetch(new Request(`http://simulator${path}${query}`, { method, headers, body }))
